package cuda

import (
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"sync"
	"unsafe"

	"healc/runtime/device"
	"healc/runtime/dynlib"
)

// Driver is an open libcuda. It is a device.Driver.
type Driver struct {
	api
	loops   *loopAPI // nil where the driver is too old for it
	version int32

	mu      sync.Mutex
	devices map[int]*dev // that are open
}

// library is the name that every version of the driver has.
const library = "libcuda.so.1"

const helpInstall = "install the driver of NVIDIA (Debian: `apt-get install nvidia-driver`; in a container, start " +
	"it with the host's devices), or use --backend cpu"

// EnvPath is the environment variable that names the library to use instead.
const EnvPath = "HEAL_LIBCUDA"

var open = sync.OnceValues(func() (*Driver, error) {
	if name := os.Getenv(EnvPath); name != "" {
		return openLibrary(name)
	}
	return openLibrary(library)
})

// Open returns the process's driver; the first call opens it. It is never closed. The error is a *device.MissingError
// when there is no driver or no device, or the driver is too old.
func Open() (*Driver, error) { return open() }

// openLibrary opens a file, or a name for the dynamic linker.
func openLibrary(name string) (*Driver, error) {
	goruntime.LockOSThread() // the reason of a failure is kept for the thread
	defer goruntime.UnlockOSThread()
	dl, err := dynlib.Open(name, dynlib.Now)
	if err != nil {
		why := strings.TrimPrefix(err.Error(), name+": ")
		if dynlib.Absent(name, why) {
			return nil, &device.MissingError{Why: "there is no driver of NVIDIA: " + name + " is not there",
				Help: helpInstall}
		}
		return nil, &device.MissingError{Why: "the driver of NVIDIA cannot be loaded: " + name + ": " + why,
			Help: helpInstall}
	}
	return OpenSymbols(name, func(symbol string) (uintptr, error) { return dynlib.Symbol(dl, symbol) })
}

// OpenSymbols makes a driver of the functions that symbol finds by their C names. name is the library, for messages.
// Open does it for the installed driver; tests bring a library of their own.
func OpenSymbols(name string, symbol func(string) (uintptr, error)) (*Driver, error) {
	d := &Driver{devices: map[int]*dev{}}
	// The version comes first: an old driver may lack functions, and this is the better reason.
	addr, err := symbol("cuDriverGetVersion")
	if err != nil || addr == 0 {
		return nil, &device.MissingError{Why: name + " is no driver of NVIDIA: it has no function cuDriverGetVersion",
			Help: helpInstall}
	}
	get := function{"cuDriverGetVersion", addr}
	var version int32
	if err := get.call(uintptr(unsafe.Pointer(&version))).failure(get.name, ""); err != nil {
		return nil, err
	}
	if version < minVersion {
		return nil, &device.MissingError{
			Why: fmt.Sprintf("the driver of NVIDIA is too old: it supports CUDA %s, and %s is needed",
				versionName(version), versionName(minVersion)),
			Help: "install version 470 of the driver or a newer one",
		}
	}
	if err := bind(&d.api, symbol); err != nil {
		return nil, &device.MissingError{Why: fmt.Sprintf("the driver of NVIDIA (CUDA %s) cannot be used: %v",
			versionName(version), err), Help: helpUpdate}
	}
	d.version = version
	var loops loopAPI
	if version >= loopVersion && bind(&loops, symbol) == nil { // without it, loops are started step by step
		d.loops = &loops
	}
	switch r := d.Init.call(0); r {
	case success:
	case noDevice, stubLibrary, driverMismatch, systemNotReady, compatUnsupported, deviceUnavailable, unknownResult:
		e := r.failure(d.Init.name, "").(*device.Error)
		return nil, &device.MissingError{Why: fmt.Sprintf("%s (%s)", e.Text, e.Name), Help: e.Help}
	default:
		return nil, r.failure(d.Init.name, "")
	}
	return d, nil
}

// Version is the version of CUDA that the driver supports.
func (d *Driver) Version() string { return "CUDA " + versionName(d.version) }

// count is the number of devices; none is an error.
func (d *Driver) count() (int, error) {
	var n int32
	r := d.DeviceGetCount.call(uintptr(unsafe.Pointer(&n)))
	if r == noDevice || r == success && n == 0 {
		m := meanings[noDevice]
		return 0, &device.MissingError{Why: m.text, Help: m.help}
	}
	return int(n), r.failure(d.DeviceGetCount.name, "")
}

// Devices describes the devices.
func (d *Driver) Devices() ([]device.Info, error) {
	n, err := d.count()
	if err != nil {
		return nil, err
	}
	var out []device.Info
	for i := range n {
		_, info, err := d.describe(i)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

// describe is the handle of a device, and what it is.
func (d *Driver) describe(i int) (int32, device.Info, error) {
	var info device.Info
	var handle int32
	if err := d.DeviceGet.call(uintptr(unsafe.Pointer(&handle)), uintptr(i)).failure(d.DeviceGet.name, ""); err != nil {
		return 0, info, err
	}
	name := make([]byte, 256)
	if err := d.DeviceGetName.call(uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)),
		uintptr(handle)).failure(d.DeviceGetName.name, ""); err != nil {
		return 0, info, err
	}
	info.Name = text(name)
	var bytes uintptr
	if err := d.DeviceTotalMem_v2.call(uintptr(unsafe.Pointer(&bytes)),
		uintptr(handle)).failure(d.DeviceTotalMem_v2.name, info.Name); err != nil {
		return 0, info, err
	}
	info.Memory = int64(bytes)
	var shared, managed, concurrent int
	for _, a := range []struct {
		attribute uintptr
		to        *int
	}{{attributeMajor, &info.Major}, {attributeMinor, &info.Minor}, {attributeProcessors, &info.Processors},
		{attributeThreads, &info.Threads}, {attributeSharedOptin, &shared},
		{attributeManaged, &managed}, {attributeConcurrent, &concurrent}} {
		var v int32
		if err := d.DeviceGetAttribute.call(uintptr(unsafe.Pointer(&v)), a.attribute,
			uintptr(handle)).failure(d.DeviceGetAttribute.name, info.Name); err != nil {
			return 0, info, err
		}
		*a.to = int(v)
	}
	info.Shared = int64(shared)
	info.Managed = managed != 0 && concurrent != 0
	return handle, info, nil
}

// Open makes device i ready.
func (d *Driver) Open(i int) (device.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v := d.devices[i]; v != nil {
		return v, nil
	}
	n, err := d.count()
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= n {
		return nil, &device.MissingError{Why: fmt.Sprintf("there is no device %d; the driver finds %d, numbered from 0",
			i, n), Help: "see `healc doctor`"}
	}
	handle, info, err := d.describe(i)
	if err != nil {
		return nil, err
	}
	v := &dev{api: &d.api, loops: d.loops, info: info}
	if err := d.DevicePrimaryCtxRetain.call(uintptr(unsafe.Pointer(&v.ctx)),
		uintptr(handle)).failure(d.DevicePrimaryCtxRetain.name, info.Name); err != nil {
		return nil, err
	}
	d.devices[i] = v
	return v, nil
}
