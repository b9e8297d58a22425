"""Programs with threads: memory of glibc's arenas in the model and in the real malloc."""
