package cuda

import (
	"fmt"
	goruntime "runtime"
	"unsafe"

	"healc/runtime/device"
)

// logBytes is room for what the driver's compiler says.
const logBytes = 16 << 10

// module is PTX that the driver has compiled.
type module struct {
	dev    *dev
	handle uintptr
}

// entry is a function of a module.
type entry struct {
	name   string
	handle uintptr
}

func (e *entry) Entry() string { return e.name }

func (v *dev) Load(name string, ptx []byte) (device.Module, error) {
	m := &module{dev: v}
	image := append(append([]byte(nil), ptx...), 0) // PTX ends with a zero
	info, errors := make([]byte, logBytes), make([]byte, logBytes)
	// Lines of the source that the PTX names are kept for profilers; the code is the same.
	options := [...]int32{jitInfoLog, jitInfoLogBytes, jitErrorLog, jitErrorLogBytes, jitLineInfo}
	// The values are pointers in C, and numbers in place of pointers; the driver writes the lengths of the logs back.
	values := [...]uintptr{uintptr(unsafe.Pointer(&info[0])), logBytes, uintptr(unsafe.Pointer(&errors[0])), logBytes,
		1}
	var pinned goruntime.Pinner
	defer pinned.Unpin()
	pinned.Pin(&info[0])
	pinned.Pin(&errors[0])
	err := v.do(&v.ModuleLoadDataEx, func() result {
		return v.ModuleLoadDataEx.call(uintptr(unsafe.Pointer(&m.handle)), uintptr(unsafe.Pointer(&image[0])),
			uintptr(len(options)), uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0])))
	})
	if err == nil {
		return m, nil
	}
	if e, ok := err.(*device.Error); ok {
		told := *e
		told.Text = fmt.Sprintf("%s cannot be loaded: %s", name, e.Text)
		if told.Log = text(errors); told.Log == "" {
			told.Log = text(info)
		}
		err = &told
	}
	return nil, err
}

func (m *module) Function(name string, shared int64) (device.Function, error) {
	f := &entry{name: name}
	cname := append([]byte(name), 0)
	v := m.dev
	err := v.do(&v.ModuleGetFunction, func() result {
		return v.ModuleGetFunction.call(uintptr(unsafe.Pointer(&f.handle)), m.handle,
			uintptr(unsafe.Pointer(&cname[0])))
	})
	if err == nil && shared > sharedWithoutAsking {
		err = v.do(&v.FuncSetAttribute, func() result {
			return v.FuncSetAttribute.call(f.handle, functionMaxDynamic, uintptr(shared))
		})
	}
	if err != nil {
		return nil, fmt.Errorf("the kernel %s: %w", name, err)
	}
	return f, nil
}

func (m *module) Close() error {
	return m.dev.do(&m.dev.ModuleUnload, func() result { return m.dev.ModuleUnload.call(m.handle) })
}
