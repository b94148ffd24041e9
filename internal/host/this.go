package host

import (
	"os"
	"sync"
)

// This is the machine that this process runs on, looked at once.
var This = sync.OnceValue(func() Machine { return Probe(os.Getenv) })
