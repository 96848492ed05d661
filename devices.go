package heal

import (
	"healc/internal/backend"
	"healc/runtime/device"
	"healc/runtime/memory"
)

// Device is a GPU, or the simulator of one, that has memory for tensors and runs programs.
type Device = memory.Device

// OpenDevice returns device number i of a backend, GPU or PTXSim; the same one each time. The error is a
// *MissingDeviceError when there is none: no driver, one that is too old, no such device.
func OpenDevice(name string, i int) (*Device, error) { return backend.Open(name, i) }

// Devices describes the devices of a backend, GPU or PTXSim, and says which version of the driver there is. The error
// is a *MissingDeviceError when there is none.
func Devices(name string) (version string, devices []device.Info, err error) {
	return backend.Devices(name)
}
