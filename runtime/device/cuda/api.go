package cuda

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/ebitengine/purego"
)

// api has the addresses of the driver's functions, named as in C without the prefix cu. The comments are their
// parameters; every one returns a CUresult.
type api struct {
	Init             function // unsigned flags
	DriverGetVersion function // int *version

	DeviceGetCount             function // int *count
	DeviceGet                  function // CUdevice *device, int ordinal
	DeviceGetName              function // char *name, int len, CUdevice
	DeviceTotalMem_v2          function // size_t *bytes, CUdevice
	DeviceGetAttribute         function // int *value, CUdevice_attribute, CUdevice
	DevicePrimaryCtxRetain     function // CUcontext *ctx, CUdevice
	DevicePrimaryCtxRelease_v2 function // CUdevice
	CtxSetCurrent              function // CUcontext
	CtxSetLimit                function // CUlimit, size_t value
	CtxGetLimit                function // size_t *value, CUlimit

	MemGetInfo_v2      function // size_t *free, size_t *total
	MemAlloc_v2        function // CUdeviceptr *p, size_t bytes
	MemAllocManaged    function // CUdeviceptr *p, size_t bytes, unsigned flags
	MemFree_v2         function // CUdeviceptr
	MemHostAlloc       function // void **p, size_t bytes, unsigned flags
	MemFreeHost        function // void *
	MemcpyHtoDAsync_v2 function // CUdeviceptr dst, const void *src, size_t bytes, CUstream
	MemcpyDtoHAsync_v2 function // void *dst, CUdeviceptr src, size_t bytes, CUstream
	MemcpyDtoDAsync_v2 function // CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream
	MemsetD32Async     function // CUdeviceptr dst, unsigned value, size_t n, CUstream
	StreamCreate       function // CUstream *, unsigned flags
	StreamDestroy_v2   function // CUstream
	StreamSynchronize  function // CUstream
	StreamQuery        function // CUstream
	EventCreate        function // CUevent *, unsigned flags
	EventRecord        function // CUevent, CUstream
	EventSynchronize   function // CUevent
	EventQuery         function // CUevent
	EventElapsedTime   function // float *milliseconds, CUevent start, CUevent end
	EventDestroy_v2    function // CUevent
	// CUmodule *, const void *image, unsigned n, CUjit_option *options, void **values
	ModuleLoadDataEx  function
	ModuleUnload      function // CUmodule
	ModuleGetFunction function // CUfunction *, CUmodule, const char *name
	FuncSetAttribute  function // CUfunction, CUfunction_attribute, int value
	// CUfunction, unsigned grid x, y, z, block x, y, z, shared bytes, CUstream, void **params, void **extra
	LaunchKernel              function
	StreamBeginCapture_v2     function // CUstream, CUstreamCaptureMode
	StreamEndCapture          function // CUstream, CUgraph *
	GraphInstantiateWithFlags function // CUgraphExec *, CUgraph, unsigned long long flags
	GraphLaunch               function // CUgraphExec, CUstream
	GraphDestroy              function // CUgraph
	GraphExecDestroy          function // CUgraphExec
}

// loopAPI has the functions for graphs that repeat their work, which drivers have from CUDA 12.4 on.
type loopAPI struct {
	GraphCreate function // CUgraph *, unsigned flags
	// CUgraphConditionalHandle *, CUgraph, CUcontext, unsigned initial value, unsigned flags
	GraphConditionalHandleCreate function
	// CUgraphNode *, CUgraph, const CUgraphNode *after, const CUgraphEdgeData *, size_t n, CUgraphNodeParams *
	GraphAddNode_v2 function
	// CUstream, CUgraph, const CUgraphNode *after, const CUgraphEdgeData *, size_t n, CUstreamCaptureMode
	StreamBeginCaptureToGraph function
}

// nodeParams is a CUgraphNodeParams for a conditional node.
type nodeParams struct {
	kind     int32 // CUgraphNodeType
	_        [3]int32
	handle   uint64   // of the condition
	form     int32    // CUgraphConditionalNodeType
	size     uint32   // how many graphs there are in the node
	bodies   *uintptr // CUgraph *: the driver's array of them, which it writes here
	context  uintptr
	_        [25]int64 // the union is 29 words
	reserved int64
}

// function is a function of the driver.
type function struct {
	name string // as the library exports it
	addr uintptr
}

// bind finds all functions of an api or a loopAPI. It names the first that is missing.
func bind(functions any, symbol func(name string) (uintptr, error)) error {
	v := reflect.ValueOf(functions).Elem()
	for i := range v.NumField() {
		name := "cu" + v.Type().Field(i).Name
		addr, err := symbol(name)
		if err != nil || addr == 0 {
			return fmt.Errorf("it has no function %s", name)
		}
		v.Field(i).Addr().Interface().(*function).set(name, addr)
	}
	return nil
}

func (f *function) set(name string, addr uintptr) { f.name, f.addr = name, addr }

// call calls the function; the result is a CUresult. An argument that is a pointer to Go memory is written
// uintptr(unsafe.Pointer(&x)) in the call itself, which keeps x where it is.
//
//go:uintptrescapes
func (f *function) call(args ...uintptr) result {
	r, _, _ := purego.SyscallN(f.addr, args...)
	return result(int32(r))
}

// Constants of cuda.h.
const (
	attributeProcessors  = 16 // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
	attributeThreads     = 39 // CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR
	attributeMajor       = 75 // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
	attributeMinor       = 76
	attributeManaged     = 83 // CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY
	attributeConcurrent  = 89 // CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: by the host, while kernels run
	attributeSharedOptin = 97 // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN

	limitStack = 0 // CU_LIMIT_STACK_SIZE

	attachGlobal        = 1 // CU_MEM_ATTACH_GLOBAL
	hostPortable        = 1 // CU_MEMHOSTALLOC_PORTABLE
	streamNonBlocking   = 1 // CU_STREAM_NON_BLOCKING: does not wait for the default stream
	eventDefault        = 0
	eventNoTiming       = 2  // CU_EVENT_DISABLE_TIMING
	captureRelaxed      = 2  // CU_STREAM_CAPTURE_MODE_RELAXED: any thread may go on with it
	functionMaxDynamic  = 8  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
	nodeConditional     = 13 // CU_GRAPH_NODE_TYPE_CONDITIONAL
	conditionWhile      = 1  // CU_GRAPH_COND_TYPE_WHILE
	conditionAssign     = 1  // CU_GRAPH_COND_ASSIGN_DEFAULT: with the initial value at each launch
	jitInfoLog          = 3  // CU_JIT_INFO_LOG_BUFFER
	jitInfoLogBytes     = 4
	jitErrorLog         = 5 // CU_JIT_ERROR_LOG_BUFFER
	jitErrorLogBytes    = 6
	jitLineInfo         = 13 // CU_JIT_GENERATE_LINE_INFO
	launchParams        = 1  // CU_LAUNCH_PARAM_BUFFER_POINTER
	launchParamsBytes   = 2  // CU_LAUNCH_PARAM_BUFFER_SIZE
	launchParamsEnd     = 0
	sharedWithoutAsking = 48 << 10 // dynamic shared memory that needs no attribute
)

// minVersion is the oldest CUDA version of a driver that has all of api: graphs are instantiated with flags.
const minVersion = 11040

// loopVersion is the oldest CUDA version with all of loopAPI.
const loopVersion = 12040

// versionName prints 12040 as 12.4.
func versionName(v int32) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// text is a C string in a buffer.
func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}
