"""The value of the call site to a policy: learned from one run, used on another."""
