"""What the exit codes of the program mean (README, "Errors and exit codes")."""

FAILED, WRONG_INPUT, INTERRUPTED, CLOSED_PIPE = 1, 2, 130, 141
