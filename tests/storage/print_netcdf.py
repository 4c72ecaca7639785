"""Prints groups, attributes, variables and numbers of a netCDF file, for draws_foreign.cpp."""

import sys

import netCDF4


def text_of(number):
    return f"{number:.17g}" if isinstance(number, float) else str(number)


def print_group(path, group):
    for name in group.ncattrs():
        print(f"{path} attribute {name} = {group.getncattr(name)}")
    for name, variable in group.variables.items():
        dimensions = " ".join(f"{d}={n}" for d, n in zip(variable.dimensions, variable.shape))
        attributes = "".join(f" {a}={variable.getncattr(a)}" for a in variable.ncattrs())
        numbers = "".join(" " + text_of(x) for x in variable[...].ravel().tolist())
        print(f"{path} {name} {variable.dtype} ({dimensions}){attributes}{numbers}")
    for name, child in group.groups.items():
        print_group(f"{path}/{name}", child)


dataset = netCDF4.Dataset(sys.argv[1])
dataset.set_auto_mask(False)
print_group("", dataset)
