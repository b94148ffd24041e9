"""Makes the test files: the same data in all formats of netCDF, by the netCDF library.

python3 make.py     needs netCDF4 and numpy; weather_4.nc is HDF5, of which readers/hdf5 is the oracle
"""

import netCDF4
import numpy as np

FORMATS = {"1": "NETCDF3_CLASSIC", "2": "NETCDF3_64BIT_OFFSET", "5": "NETCDF3_64BIT_DATA", "4": "NETCDF4"}


def weather(d, wide):
    """Records of all types, packed values, times, flags, texts, bounds, single values."""
    rng = np.random.default_rng(5)
    d.title = "made by make.py"
    for name, n in (("time", None), ("lat", 3), ("lon", 5), ("len", 7), ("bnds", 2), ("station", 4), ("titles", 5)):
        d.createDimension(name, n)

    def var(name, dtype, dims, values=None, fill=None, **attrs):
        v = d.createVariable(name, dtype, dims, fill_value=fill)
        v.set_auto_maskandscale(False)
        v.setncatts(attrs)
        if values is not None:
            v[:] = values

    n = 6
    var("lat", "f4", ("lat",), [10, 20, 30], units="degrees_north", standard_name="latitude")
    var("lon", "f4", ("lon",), [0, 72, 144, 216, 288], units="degrees_east")
    var("time", "f8", ("time",), np.arange(n) * 6.0, units="hours since 2001-02-03 04:00", calendar="noleap", bounds="time_bnds")
    var("time_bnds", "f8", ("time", "bnds"), np.arange(2 * n).reshape(n, 2) * 3.0)
    for t in ["i1", "i2", "i4", "f4", "f8"] + (["u1", "u2", "u4", "i8", "u8"] if wide else []):
        var("v_" + t, t, ("time", "lat", "lon"), rng.integers(0, 100, (n, 3, 5)).astype(t), long_name="values of " + t)
    packed = rng.integers(-50, 50, (n, 5)).astype("i2")
    packed[2, 3] = -999
    var("packed", "i2", ("time", "lon"), packed, fill=np.int16(-999), scale_factor=np.float32(0.5), add_offset=np.float32(10))
    var("scaled", "i1", ("time",), np.arange(n), scale_factor=0.1)
    masked = rng.normal(size=(n, 3)).astype("f4")
    masked[1, 1] = 1e20
    var("masked", "f4", ("time", "lat"), masked, missing_value=np.float32(1e20), valid_range=np.array([-5, 5], "f4"), units="K")
    var("unsigned", "i1", ("time",), np.array([0, 1, -1, -128, 127, 5]), _Unsigned="true")
    var("land", "i1", ("time", "lon"), rng.integers(0, 3, (n, 5)), flag_values=np.array([0, 1, 2], "i1"), flag_meanings="sea land ice")
    texts = np.array([list(s.ljust(7, "\0")) for s in ["alpha", "b", "gamma12", "", "de f", "x"]], "S1")
    var("name", "S1", ("time", "len"), texts)
    var("mark", "S1", ("time",), np.array(list("abcdef"), "S1"))
    var("title", "S1", ("titles",), np.array(list("hello"), "S1"))
    var("scalar", "f8", (), 2.5)
    var("orog", "f4", ("lat", "lon"), rng.normal(size=(3, 5)))
    var("height", "f4", ("station",), [1, 2, 3, 4])
    var("unwritten", "f4", ("time", "lat"))  # the library fills it
    var("counts", "i4", ("time",), np.arange(n) * 1000)


def main():
    for key, kind in FORMATS.items():
        with netCDF4.Dataset("weather_%s.nc" % key, "w", format=kind) as d:
            weather(d, False)
        if key in "45":
            with netCDF4.Dataset("wide_%s.nc" % key, "w", format=kind) as d:
                weather(d, True)
    for name, n in (("fixed_1.nc", 30), ("fixed_4.nc", 30)):
        with netCDF4.Dataset(name, "w", format=FORMATS[name[6]]) as d:  # without records, two axes that could be the samples'
            d.createDimension("n", n)
            d.createDimension("m", 4)
            d.createDimension("k", 2)
            d.createVariable("x", "f4", ("n", "m"))[:] = np.arange(4 * n).reshape(n, 4)
            d.createVariable("y", "i2", ("n",))[:] = np.arange(n)
            d.createVariable("w", "f8", ("m", "n", "k"))[:] = np.arange(8 * n).reshape(4, n, 2)


main()
