"""What can be said of any text: its language, its words, how much it repeats, whether it says anything."""
