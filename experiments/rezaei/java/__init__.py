"""Recording what a Java program asks of its heap, and when a collector finds it dead."""
