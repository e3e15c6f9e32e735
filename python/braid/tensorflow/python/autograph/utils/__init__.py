"""What AutoGraph says."""
