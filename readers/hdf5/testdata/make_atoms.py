#!/usr/bin/env python3
"""Small files laid out as public sets of molecules are: h5py, and values that say where they stand.

python3 make_atoms.py      writes atoms_*.h5 beside this script. The values are invented.
"""

import os

import h5py
import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))


def numbers(*shape, start):
    return np.arange(start, start + int(np.prod(shape)), dtype="f8").reshape(shape)


with h5py.File("atoms_mace.h5", "w") as f:  # batches of configurations; the last one has fewer
    for b, n in enumerate((2, 1)):
        for c in range(n):
            g = f.create_group(f"config_batch_{b}/config_{c}")
            g["atomic_numbers"] = np.arange(b + c + 1)
            g["positions"] = numbers(b + c + 1, 3, start=100 * b + 10 * c)
            g["properties/energy"] = float(10 * b + c)
with h5py.File("atoms_mace_even.h5", "w") as f:  # all batches have equally many
    for b in range(2):
        for c in range(2):
            f[f"config_batch_{b}/config_{c}/energy"] = float(10 * b + c)
with h5py.File("atoms_qm7x.h5", "w") as f:  # molecules, and their conformations by name
    for m, n in ((1, 2), (2, 3), (10, 1)):
        for c in range(2):
            g = f.create_group(f"{m}/Geom-m{m}-i1-c{c + 1}-opt")
            g["atNUM"], g["atXYZ"], g["ePBE0"] = np.arange(n), numbers(n, 3, start=0), numbers(1, start=10 * m + c)
with h5py.File("atoms_ani1x.h5", "w") as f:  # a group for each formula, with all of its conformations
    for k, (n, conformations) in enumerate(((5, 3), (3, 2))):
        g = f.create_group(["C1H4", "H2O1"][k])
        g["atomic_numbers"], g["coordinates"], g["energy"] = np.arange(n), numbers(conformations, n, 3, start=0), numbers(conformations, start=10 * k)
with h5py.File("atoms_spice.h5", "w", libver="latest") as f:  # a group for each molecule; in one, as many conformations as atoms
    for name, n, conformations in (("103147", 3, 2), ("ala-gly", 2, 4), ("water", 3, 3)):
        g = f.create_group(name)
        g["atomic_numbers"], g["smiles"], g["subset"] = np.arange(1, n + 1, dtype="i2"), np.array([b"[" + name.encode() + b"]"], dtype=object), np.array([b"set"], dtype=object)
        start = 100 * len(f)
        g.create_dataset("conformations", data=numbers(conformations, n, 3, start=start).astype("f4"), chunks=(1, n, 3), compression="gzip")
        g["dft_total_energy"], g["mbis_charges"] = numbers(conformations, start=start), numbers(conformations, n, 1, start=start)
        g["scf_dipole"] = numbers(conformations, 3, start=start)
