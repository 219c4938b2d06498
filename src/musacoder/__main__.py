"""`python -m musacoder` is the command `musacoder`."""

from musacoder.start import main

main()
