"""The value of call sites to a policy that learns from one run and is used on another."""
