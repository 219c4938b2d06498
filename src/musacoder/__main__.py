"""`python -m musacoder` is the command `musacoder`."""

from musacoder.cli import main

main()
