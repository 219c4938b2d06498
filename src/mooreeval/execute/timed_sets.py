"""Which inputs a timed call gets: the one rule that the judge, the task's process and the candidate's share."""


def set_of_call(first: int, number: int, cycle: int) -> int:
    """The set of inputs of call `number` of a block whose first call, of that number, takes set `first`.

    A block that begins in the first `cycle` sets stays there; another goes on through the rest.
    """
    return number % cycle if first < cycle else number
