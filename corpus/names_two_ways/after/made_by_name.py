import called_by_table


def make(options, *operands):
    return called_by_table.__dict__[options["kind"]](*operands)
