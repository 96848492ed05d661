// Package backend has the names of what programs run on, and opens the devices of those that have some.
package backend

import (
	"fmt"
	"os"
	"sync"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/runtime/device"
	"healc/runtime/device/cuda"
	"healc/runtime/device/sim"
	"healc/runtime/memory"
)

// The backends.
const (
	CPU    = "cpu"    // machine code, made by libLLVM
	Interp = "interp" // the reference interpreter: slow, needs nothing
	GPU    = "gpu"    // a device of NVIDIA, by PTX that libLLVM makes
	PTXSim = "ptxsim" // the same PTX, executed on the CPU with every access checked: slow
)

// Names lists them.
var Names = []string{CPU, GPU, PTXSim, Interp}

// HasDevices reports whether programs of a backend run on a device.
func HasDevices(name string) bool { return name == GPU || name == PTXSim }

// open are the devices that are open: a process has one of each.
var open struct {
	sync.Mutex
	devices map[string]*memory.Device
}

// Open returns device number i of a backend, GPU or PTXSim; the same one each time. The error is a
// *device.MissingError when there is none: no driver, one that is too old, no such device.
func Open(backend string, i int) (*memory.Device, error) {
	driver, err := driverOf(backend)
	if err != nil {
		return nil, err
	}
	open.Lock()
	defer open.Unlock()
	key := fmt.Sprint(backend, i)
	if d := open.devices[key]; d != nil {
		return d, nil
	}
	dev, err := driver.Open(i)
	if err != nil {
		return nil, err
	}
	if info := dev.Info(); gpu.ArchFor(info.Major, info.Minor) == "" {
		why := fmt.Sprintf("%s has the compute capability %d.%d, and code is made for %s and newer", info.Name,
			info.Major, info.Minor, gpu.DefaultArch)
		help := "use --backend cpu"
		if old := gpu.TooOld(); old != "" {
			why = fmt.Sprintf("libLLVM %s makes no right code for GPUs", old)
			help = "install libllvm19 (versions 16 to 22 will do), or use --backend cpu"
		}
		return nil, &device.MissingError{Why: why, Help: help}
	}
	if open.devices == nil {
		open.devices = map[string]*memory.Device{}
	}
	d := memory.NewDevice(dev)
	open.devices[key] = d
	return d, nil
}

var simulator sim.Driver

// driverOf is the driver of a backend.
func driverOf(backend string) (device.Driver, error) {
	switch backend {
	case GPU:
		d, err := cuda.Open()
		if err != nil {
			return nil, err
		}
		return d, nil
	case PTXSim:
		return &simulator, nil
	}
	return nil, fmt.Errorf("the backend %q has no devices", backend)
}

// Devices describes the devices of a backend, GPU or PTXSim, and says which version of the driver there is. The error
// is a *device.MissingError when there is none.
func Devices(backend string) (version string, devices []device.Info, err error) {
	driver, err := driverOf(backend)
	if err != nil {
		return "", nil, err
	}
	devices, err = driver.Devices()
	return driver.Version(), devices, err
}

// ProcessorEnv names, as LLVM does, the processor that code is made for where nothing else says: one with less than
// this machine's keeps programs from what that has, such as its tile registers.
const ProcessorEnv = "HEAL_CPU"

// Processor is t, or where that is this machine the processor that ProcessorEnv names.
func Processor(t codegen.Target) codegen.Target {
	if t.CPU == "" && t.Triple == "" && t.Kind != GPU {
		t.CPU = os.Getenv(ProcessorEnv)
	}
	return t
}

// Target is what code is made for on a backend. For a device d that is the newest processor that code generation and
// libLLVM know and that is no newer than the device, where t names none; the simulator runs code for the least one.
func Target(name string, t codegen.Target, d *memory.Device) codegen.Target {
	if !HasDevices(name) {
		return t
	}
	t.Kind = GPU
	if t.CPU == "" && name == GPU {
		info := d.Info()
		t.CPU = gpu.ArchFor(info.Major, info.Minor)
	}
	return t
}
