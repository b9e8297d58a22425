"""Parts shared by the device allocators."""
