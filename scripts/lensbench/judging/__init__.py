"""What judges see, what they say, and what their word is worth."""
