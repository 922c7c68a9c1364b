"""Arrays in, arrays out; knows no column names.

numba keeps compiled kernels in files beside the source. A zip archive (`--py-files holdfast.zip`) has no such place,
and each Python worker would compile the kernels anew, for minutes. So the kernels of an archive are unpacked once on
each machine, together with the compiled ones that the archive brings along, and are imported from there.
"""

from zipimport import zipimporter

_loader = __spec__.loader if __spec__ else None
if isinstance(_loader, zipimporter):
    from holdfast.kernels.unpacked import unpacked_kernels  # only here: what it imports takes time

    _folder = unpacked_kernels(_loader.archive)
    if _folder is not None:
        __path__[:] = [str(_folder)]
