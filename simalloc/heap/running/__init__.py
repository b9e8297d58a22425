"""Taking traces through policies: what is asked of a run, who carries it out, what is measured."""
