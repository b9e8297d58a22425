"""What the device allocators share."""
