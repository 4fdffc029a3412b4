"""Result to text: for people, and for programs."""
