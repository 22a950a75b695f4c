"""What is done on a client of any Lustre, whoever serves it: stripes of files and directories, and its locks."""
