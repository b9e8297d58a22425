"""What knowing the call site is worth to a policy: learned from one run, used on another."""
