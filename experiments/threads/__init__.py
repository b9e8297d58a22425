"""Programs with threads: what glibc's arenas hold, in the model and in the real malloc."""
