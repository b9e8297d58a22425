"""Recording of the heap requests of a Java program, and of the deaths that a collector finds."""
