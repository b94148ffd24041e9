package device

import (
	"errors"
	"testing"

	"github.com/shardify/shardify/gpuload/internal/load"
)

func TestDevicesAreOpenedByName(t *testing.T) {
	for _, name := range []string{"gpu", "cuda0", "cuda:-1", "cuda:x", "Host"} {
		if d, err := Open(name); err == nil {
			t.Errorf("%q is %s", name, d)
		}
	}
	d, err := Open("host")
	if err != nil || d.String() != "host" {
		t.Fatal(d, err)
	}
	if info := Describe(d); info.Device != "host" || info.NUMA != -1 {
		t.Errorf("%+v", info)
	}
	if _, ok := d.(GPU); ok {
		t.Error("the host has memory of its own")
	}
	// cuda:9999 is no device, with a driver or without.
	if _, err := Open("cuda:9999"); !errors.Is(err, ErrNoDriver) && !errors.Is(err, ErrNoDevice) {
		t.Error(err)
	}
}

func TestTheHostsMemoryIsTheTables(t *testing.T) {
	b, err := Host{}.Alloc(100, 1)
	if err != nil || len(b) != 100 || load.Address(b)%64 != 0 {
		t.Fatal(len(b), err)
	}
	Host{}.Free(b)
}
