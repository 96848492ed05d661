package libllvm

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/ebitengine/purego"

	"healc/runtime/dynlib"
)

// handle is a pointer to an LLVM object: context, module, target machine, buffer, ...
type handle uintptr

// api has the functions of llvm-c that the binding calls, named as in C without the prefix LLVM. The
// tag "optional" marks those that some supported version lacks; they are nil then.
//
// C strings that we get are *byte: purego would copy them as strings but not free them.
type api struct {
	GetVersion               func(major, minor, patch *uint32) `llvm:"optional"` // since 16
	PointerTypeInContext     func(ctx handle, space uint32) handle
	DisposeMessage           func(msg *byte)
	InstallFatalErrorHandler func(handler uintptr)

	// Contexts, modules and text.
	ContextCreate                         func() handle
	ContextDispose                        func(ctx handle)
	ContextSetDiagnosticHandler           func(ctx handle, handler, user uintptr)
	GetDiagInfoDescription                func(info handle) *byte
	GetDiagInfoSeverity                   func(info handle) int32
	CreateMemoryBufferWithMemoryRangeCopy func(data string, size uintptr, name string) handle
	GetBufferStart                        func(buf handle) *byte
	GetBufferSize                         func(buf handle) uintptr
	DisposeMemoryBuffer                   func(buf handle)
	ParseIRInContext                      func(ctx, buf handle, mod *handle, msg **byte) int32
	DisposeModule                         func(mod handle)
	VerifyModule                          func(mod handle, action int32, msg **byte) int32
	PrintModuleToString                   func(mod handle) *byte
	SetTarget                             func(mod handle, triple string)
	SetModuleDataLayout                   func(mod, data handle)

	// Targets.
	GetDefaultTargetTriple          func() *byte
	NormalizeTargetTriple           func(triple string) *byte
	GetHostCPUName                  func() *byte
	GetHostCPUFeatures              func() *byte
	GetTargetFromTriple             func(triple string, target *handle, msg **byte) int32
	CreateTargetMachine             func(target handle, triple, cpu, features string, level, reloc, model int32) handle
	DisposeTargetMachine            func(tm handle)
	CreateTargetDataLayout          func(tm handle) handle
	DisposeTargetData               func(data handle)
	SetTargetMachineAsmVerbosity    func(tm handle, verbose int32)
	TargetMachineEmitToMemoryBuffer func(tm, mod handle, kind int32, msg **byte, buf *handle) int32

	// The pass pipeline.
	RunPasses                              func(mod handle, passes string, tm, options handle) handle
	GetErrorMessage                        func(err handle) *byte
	DisposeErrorMessage                    func(msg *byte)
	CreatePassBuilderOptions               func() handle
	DisposePassBuilderOptions              func(options handle)
	PassBuilderOptionsSetLoopVectorization func(options handle, on int32)
	PassBuilderOptionsSetLoopInterleaving  func(options handle, on int32)
	PassBuilderOptionsSetSLPVectorization  func(options handle, on int32)
	PassBuilderOptionsSetLoopUnrolling     func(options handle, on int32)
}

// bind fills in a from the library dl. It names the first function that is missing.
func (a *api) bind(dl uintptr) error {
	v := reflect.ValueOf(a).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		sym, err := dynlib.Symbol(dl, "LLVM"+f.Name)
		if err != nil {
			if f.Tag.Get("llvm") == "optional" {
				continue
			}
			return fmt.Errorf("it has no function LLVM%s", f.Name)
		}
		purego.RegisterFunc(v.Field(i).Addr().Interface(), sym)
	}
	return nil
}

// take copies the C string msg and frees it with LLVMDisposeMessage; nil gives "".
func (a *api) take(msg *byte) string {
	if msg == nil {
		return ""
	}
	s := goString(msg)
	a.DisposeMessage(msg)
	return s
}

// goString copies the C string p.
func goString(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
