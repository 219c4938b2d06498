"""The walls around hostile code: what a process may see, reach, use and leave behind. Imports no torch.

    view.py       which paths a process may read, where it may write, which devices it sees
    kernel.py     the kernel's calls that Python has no names for
    walls.py      namespaces and a root folder of one's own, made of a view
    landlock.py   the same view where there are no namespaces: rights to paths, kept by the kernel
    seccomp.py    calls that are refused, in every mode
    modes.py      which of these this machine has, and what that covers
    bubblewrap.py the command line of bwrap for a view
    enter.py      a program that enters the walls and becomes another one: a compiler
    descendants.py  everything below a process, found and ended

`docs/security.md` says what is covered in which mode, and what is not.
"""
