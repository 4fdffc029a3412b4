"""The command line: one small file per command. Nothing heavy is imported before it is needed."""
