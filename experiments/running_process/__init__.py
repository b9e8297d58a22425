"""The model of a running process's heap, compared with the process some minutes later."""
