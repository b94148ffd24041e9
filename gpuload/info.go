package gpuload

// DeviceInfo is what there is to know about a device.
type DeviceInfo struct {
	Device string // "host", "cuda:0"
	// Of a GPU: its name, the newest CUDA of its driver (13000 is 13.0), the library,
	// compute capability, and place.
	Name            string
	UUID, PCI       string
	Driver          int
	Library         string
	Capability      [2]int
	Multiprocessors int
	CopyEngines     int
	NUMA            int // node, or -1
	// Memory and Free are the bytes of the device's memory.
	Memory, Free int64
	// Engine and Read are measured bytes per second: one large copy from pinned memory,
	// and a kernel that reads it.
	Engine, Read float64
	// EngineRow is the bytes of a row from which the copy engine is used row by row.
	EngineRow int64
	// PinsReadOnly: read-only mappings of files can be pinned.
	PinsReadOnly bool
	// Of the host: cores that this process may run on, and what the system says of huge
	// pages ("always", "madvise", "never"; "" is unknown).
	Cores     int
	HugePages string
}

// Probe opens a device as a Loader would, measures it, and closes it again.
func Probe(device string) (DeviceInfo, error) {
	d, err := openDevice(device)
	if err != nil {
		return DeviceInfo{}, err
	}
	info := describe(d)
	return info, d.close()
}

// describer is a device with more to say than its name.
type describer interface{ describe(info *DeviceInfo) }

func describe(d device) DeviceInfo {
	info := DeviceInfo{Device: d.String(), NUMA: -1, Cores: coresAllowed(), HugePages: hugePages()}
	if d, ok := d.(describer); ok {
		d.describe(&info)
	}
	return info
}

// Device describes where the batches are delivered.
func (l *Loader) Device() DeviceInfo { return describe(l.dev) }
