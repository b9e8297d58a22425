"""Parts of several families."""
