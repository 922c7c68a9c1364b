"""What is wrong with rules before anything is checked."""
