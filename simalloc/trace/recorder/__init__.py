"""Record what a program asks of malloc."""
