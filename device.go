package heal

import (
	"fmt"
	"sync"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/runtime"
	"healc/runtime/device"
	"healc/runtime/device/cuda"
	"healc/runtime/device/sim"
)

// devices are those that are open: a process has one of each.
var devices struct {
	sync.Mutex
	open map[string]*runtime.Device
}

// OpenDevice returns device number i of a backend, GPU or PTXSim; the same one each time. The error is a
// *device.MissingError when there is none: no driver, one that is too old, no such device.
func OpenDevice(backend string, i int) (*runtime.Device, error) {
	driver, err := deviceDriver(backend)
	if err != nil {
		return nil, err
	}
	devices.Lock()
	defer devices.Unlock()
	key := fmt.Sprint(backend, i)
	if d := devices.open[key]; d != nil {
		return d, nil
	}
	dev, err := driver.Open(i)
	if err != nil {
		return nil, err
	}
	if info := dev.Info(); gpu.ArchFor(info.Major, info.Minor) == "" {
		return nil, &device.MissingError{
			Why: fmt.Sprintf("%s has the compute capability %d.%d, and code is made for %s and newer", info.Name,
				info.Major, info.Minor, gpu.DefaultArch),
			Help: "use --backend cpu",
		}
	}
	if devices.open == nil {
		devices.open = map[string]*runtime.Device{}
	}
	d := runtime.NewDevice(dev)
	devices.open[key] = d
	return d, nil
}

var simulator sim.Driver

// deviceDriver is the driver of a backend.
func deviceDriver(backend string) (device.Driver, error) {
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
	driver, err := deviceDriver(backend)
	if err != nil {
		return "", nil, err
	}
	devices, err = driver.Devices()
	return driver.Version(), devices, err
}

// Device is what the module runs on, nil when that is the host. Tensors of its programs that are `on device` are there.
func (m *Module) Device() *runtime.Device { return m.opts.Device }

// onDevice reports whether programs run on a device.
func (m *Module) onDevice() bool { return m.opts.Backend == GPU || m.opts.Backend == PTXSim }

// target is what code is made for. For a device that is the newest processor that code generation and libLLVM know and
// that is no newer than the device, where the options name none; the simulator runs code for the least one.
func (m *Module) target() codegen.Target {
	t := m.opts.Target
	if !m.onDevice() {
		return t
	}
	t.Kind = GPU
	if t.CPU == "" && m.opts.Backend == GPU {
		info := m.opts.Device.Info()
		t.CPU = gpu.ArchFor(info.Major, info.Minor)
	}
	return t
}
