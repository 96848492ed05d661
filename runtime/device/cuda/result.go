package cuda

import (
	"strconv"

	"healc/runtime/device"
)

// result is a CUresult.
type result int32

const (
	success           result = 0
	outOfMemory       result = 2
	noDevice          result = 100
	invalidPTX        result = 218
	noJIT             result = 221
	unsupportedPTX    result = 222
	jitDisabled       result = 223
	noBinary          result = 209
	invalidDevice     result = 101
	stubLibrary       result = 34
	driverMismatch    result = 803
	newerDriverNeeded result = 36
	systemNotReady    result = 802
	unknownResult     result = 999
	deviceUnavailable result = 46
	compatUnsupported result = 804
	notReady          result = 600
)

// meaning is what a CUresult says. lost marks those after which the context is of no use any more.
type meaning struct {
	name, text string
	lost       bool
	help       string
}

const (
	helpUpdate  = "install a newer driver of NVIDIA"
	helpBug     = "this is a mistake of healc: please report it, with the program"
	helpRestart = "look into the system's log (dmesg) for what the driver says (Xid)"
)

// meanings has every code that cuda.h names.
var meanings = map[result]meaning{
	0: {name: "SUCCESS", text: "success"},
	1: {name: "ERROR_INVALID_VALUE", text: "an argument is wrong", help: helpBug},
	2: {name: "ERROR_OUT_OF_MEMORY", text: "out of memory"},
	3: {name: "ERROR_NOT_INITIALIZED", text: "the driver is not initialised", help: helpBug},
	4: {name: "ERROR_DEINITIALIZED", text: "the driver is shutting down"},
	5: {name: "ERROR_PROFILER_DISABLED", text: "the profiler is off"},
	6: {name: "ERROR_PROFILER_NOT_INITIALIZED", text: "the profiler is not initialised"},
	7: {name: "ERROR_PROFILER_ALREADY_STARTED", text: "the profiler is running"},
	8: {name: "ERROR_PROFILER_ALREADY_STOPPED", text: "the profiler is not running"},
	34: {name: "ERROR_STUB_LIBRARY", text: "the libcuda that was found is the stub for linking, not the driver",
		help: "install the driver of NVIDIA, and take the folder of stubs out of LD_LIBRARY_PATH"},
	36: {name: "ERROR_CALL_REQUIRES_NEWER_DRIVER", text: "the driver is too old for this call", help: helpUpdate},
	46: {name: "ERROR_DEVICE_UNAVAILABLE", text: "the device is in use by another process, or not to be used",
		help: "see `nvidia-smi -q -d COMPUTE`: the compute mode may be exclusive or prohibited"},
	100: {name: "ERROR_NO_DEVICE", text: "the driver finds no device",
		help: "see `nvidia-smi`; CUDA_VISIBLE_DEVICES may hide devices"},
	101: {name: "ERROR_INVALID_DEVICE", text: "there is no such device"},
	102: {name: "ERROR_DEVICE_NOT_LICENSED", text: "the device has no licence for its virtual GPU"},
	200: {name: "ERROR_INVALID_IMAGE", text: "the code is not valid", help: helpBug},
	201: {name: "ERROR_INVALID_CONTEXT", text: "the context is not valid", help: helpBug},
	202: {name: "ERROR_CONTEXT_ALREADY_CURRENT", text: "the context is current already", help: helpBug},
	205: {name: "ERROR_MAP_FAILED", text: "memory could not be mapped"},
	206: {name: "ERROR_UNMAP_FAILED", text: "memory could not be unmapped"},
	207: {name: "ERROR_ARRAY_IS_MAPPED", text: "the array is mapped", help: helpBug},
	208: {name: "ERROR_ALREADY_MAPPED", text: "the memory is mapped already", help: helpBug},
	209: {name: "ERROR_NO_BINARY_FOR_GPU", text: "the code is for another kind of device",
		help: "compile for this one with --gpu-arch"},
	210: {name: "ERROR_ALREADY_ACQUIRED", text: "the resource is acquired already", help: helpBug},
	211: {name: "ERROR_NOT_MAPPED", text: "the memory is not mapped", help: helpBug},
	212: {name: "ERROR_NOT_MAPPED_AS_ARRAY", text: "the memory is not mapped as an array", help: helpBug},
	213: {name: "ERROR_NOT_MAPPED_AS_POINTER", text: "the memory is not mapped as a pointer", help: helpBug},
	214: {name: "ERROR_ECC_UNCORRECTABLE", text: "the memory of the device has an error that cannot be corrected",
		lost: true, help: helpRestart},
	215: {name: "ERROR_UNSUPPORTED_LIMIT", text: "the device does not have this limit", help: helpBug},
	216: {name: "ERROR_CONTEXT_ALREADY_IN_USE", text: "the context is in use by another thread"},
	217: {name: "ERROR_PEER_ACCESS_UNSUPPORTED", text: "the devices cannot reach each other's memory"},
	218: {name: "ERROR_INVALID_PTX", text: "the driver's compiler refuses the PTX", help: helpBug},
	219: {name: "ERROR_INVALID_GRAPHICS_CONTEXT", text: "the graphics context is not valid"},
	220: {name: "ERROR_NVLINK_UNCORRECTABLE", text: "NVLink has an error that cannot be corrected", lost: true,
		help: helpRestart},
	221: {name: "ERROR_JIT_COMPILER_NOT_FOUND", text: "the driver's compiler for PTX is missing",
		help: "install libnvidia-ptxjitcompiler of the same version as the driver"},
	222: {name: "ERROR_UNSUPPORTED_PTX_VERSION", text: "the driver is too old for this version of PTX",
		help: helpUpdate + ", or compile for an older --gpu-arch"},
	223: {name: "ERROR_JIT_COMPILATION_DISABLED", text: "compilation of PTX is switched off",
		help: "unset CUDA_DISABLE_PTX_JIT and CUDA_DISABLE_JIT"},
	224: {name: "ERROR_UNSUPPORTED_EXEC_AFFINITY", text: "the device does not have this execution affinity"},
	225: {name: "ERROR_UNSUPPORTED_DEVSIDE_SYNC", text: "the code synchronises on the device, which is not supported",
		help: helpBug},
	226: {name: "ERROR_CONTAINED", text: "the device had an error that was contained", lost: true, help: helpRestart},
	300: {name: "ERROR_INVALID_SOURCE", text: "the source of the code is not valid", help: helpBug},
	301: {name: "ERROR_FILE_NOT_FOUND", text: "a file is missing"},
	302: {name: "ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", text: "a library of the driver lacks a symbol",
		help: "install the driver of NVIDIA again"},
	303: {name: "ERROR_SHARED_OBJECT_INIT_FAILED", text: "a library of the driver could not be initialised",
		help: "install the driver of NVIDIA again"},
	304: {name: "ERROR_OPERATING_SYSTEM", text: "a call of the operating system failed",
		help: "see that /dev/nvidia* are there and may be used"},
	400: {name: "ERROR_INVALID_HANDLE", text: "a handle is not valid", help: helpBug},
	401: {name: "ERROR_ILLEGAL_STATE", text: "a resource is not in the state that the call needs", help: helpBug},
	402: {name: "ERROR_LOSSY_QUERY", text: "the answer would lose information"},
	500: {name: "ERROR_NOT_FOUND", text: "the name is not in the code", help: helpBug},
	600: {name: "ERROR_NOT_READY", text: "the work is not done yet"},
	700: {name: "ERROR_ILLEGAL_ADDRESS", text: "a kernel used memory that is not its own", lost: true, help: helpBug},
	701: {name: "ERROR_LAUNCH_OUT_OF_RESOURCES",
		text: "a kernel needs more registers or shared memory than a block can have", help: helpBug},
	702: {name: "ERROR_LAUNCH_TIMEOUT", text: "a kernel ran longer than the system lets it", lost: true,
		help: "a device that drives a display stops long kernels: use another device, or switch the watchdog off"},
	703: {name: "ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", text: "the kernel and the texture do not fit", help: helpBug},
	704: {name: "ERROR_PEER_ACCESS_ALREADY_ENABLED", text: "peer access is on already", help: helpBug},
	705: {name: "ERROR_PEER_ACCESS_NOT_ENABLED", text: "peer access is not on", help: helpBug},
	708: {name: "ERROR_PRIMARY_CONTEXT_ACTIVE", text: "the primary context is in use already"},
	709: {name: "ERROR_CONTEXT_IS_DESTROYED", text: "the context was destroyed", lost: true},
	710: {name: "ERROR_ASSERT", text: "an assertion of a kernel failed", lost: true, help: helpBug},
	711: {name: "ERROR_TOO_MANY_PEERS", text: "too many devices reach each other's memory"},
	712: {name: "ERROR_HOST_MEMORY_ALREADY_REGISTERED", text: "the memory of the host is registered already",
		help: helpBug},
	713: {name: "ERROR_HOST_MEMORY_NOT_REGISTERED", text: "the memory of the host is not registered", help: helpBug},
	714: {name: "ERROR_HARDWARE_STACK_ERROR", text: "the stack of a kernel is damaged", lost: true, help: helpBug},
	715: {name: "ERROR_ILLEGAL_INSTRUCTION", text: "a kernel has an instruction that the device does not know",
		lost: true, help: helpBug},
	716: {name: "ERROR_MISALIGNED_ADDRESS", text: "a kernel used an address that is not aligned", lost: true,
		help: helpBug},
	717: {name: "ERROR_INVALID_ADDRESS_SPACE", text: "a kernel used an address of another space", lost: true,
		help: helpBug},
	718: {name: "ERROR_INVALID_PC", text: "a kernel jumped to nowhere", lost: true, help: helpBug},
	719: {name: "ERROR_LAUNCH_FAILED", text: "a kernel failed", lost: true, help: helpRestart},
	720: {name: "ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", text: "more blocks than can run together", help: helpBug},
	721: {name: "ERROR_TENSOR_MEMORY_LEAK", text: "a kernel did not free tensor memory", lost: true, help: helpBug},
	800: {name: "ERROR_NOT_PERMITTED", text: "it is not permitted"},
	801: {name: "ERROR_NOT_SUPPORTED", text: "the device or the system does not support it"},
	802: {name: "ERROR_SYSTEM_NOT_READY", text: "the system is not ready yet for CUDA",
		help: "on a machine with NVSwitch, nvidia-fabricmanager has to run"},
	803: {name: "ERROR_SYSTEM_DRIVER_MISMATCH",
		text: "libcuda and the kernel module of the driver are of different versions",
		help: "restart the machine after an update of the driver; in a container, use the driver of the host"},
	804: {name: "ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
		text: "the compatibility package of CUDA does not support this device",
		help: "install a newer driver in place of the package cuda-compat"},
	805: {name: "ERROR_MPS_CONNECTION_FAILED", text: "the MPS server cannot be reached"},
	806: {name: "ERROR_MPS_RPC_FAILURE", text: "a call to the MPS server failed"},
	807: {name: "ERROR_MPS_SERVER_NOT_READY", text: "the MPS server takes no clients at present"},
	808: {name: "ERROR_MPS_MAX_CLIENTS_REACHED", text: "the MPS server has as many clients as it takes"},
	809: {name: "ERROR_MPS_MAX_CONNECTIONS_REACHED", text: "the MPS server has as many connections as it takes"},
	810: {name: "ERROR_MPS_CLIENT_TERMINATED", text: "the MPS server ended this client", lost: true},
	811: {name: "ERROR_CDP_NOT_SUPPORTED", text: "kernels cannot start kernels here", help: helpBug},
	812: {name: "ERROR_CDP_VERSION_MISMATCH", text: "the versions of what starts kernels on the device differ",
		help: helpBug},
	900: {name: "ERROR_STREAM_CAPTURE_UNSUPPORTED", text: "this cannot be captured in a graph", help: helpBug},
	901: {name: "ERROR_STREAM_CAPTURE_INVALIDATED", text: "the capture of a graph failed before", help: helpBug},
	902: {name: "ERROR_STREAM_CAPTURE_MERGE", text: "two captures of graphs would become one", help: helpBug},
	903: {name: "ERROR_STREAM_CAPTURE_UNMATCHED", text: "the stream captures no graph", help: helpBug},
	904: {name: "ERROR_STREAM_CAPTURE_UNJOINED", text: "a captured stream was not joined", help: helpBug},
	905: {name: "ERROR_STREAM_CAPTURE_ISOLATION", text: "a capture depends on work outside of it", help: helpBug},
	906: {name: "ERROR_STREAM_CAPTURE_IMPLICIT", text: "a capture depends on the default stream", help: helpBug},
	907: {name: "ERROR_CAPTURED_EVENT", text: "the event was captured in a graph", help: helpBug},
	908: {name: "ERROR_STREAM_CAPTURE_WRONG_THREAD", text: "the capture was begun by another thread", help: helpBug},
	909: {name: "ERROR_TIMEOUT", text: "the time for it is over"},
	910: {name: "ERROR_GRAPH_EXEC_UPDATE_FAILURE", text: "the graph cannot be updated", help: helpBug},
	911: {name: "ERROR_EXTERNAL_DEVICE", text: "another device failed", lost: true},
	912: {name: "ERROR_INVALID_CLUSTER_SIZE", text: "the cluster is of a wrong size", help: helpBug},
	913: {name: "ERROR_FUNCTION_NOT_LOADED", text: "the function is not loaded", help: helpBug},
	914: {name: "ERROR_INVALID_RESOURCE_TYPE", text: "the resource is of a wrong kind", help: helpBug},
	915: {name: "ERROR_INVALID_RESOURCE_CONFIGURATION", text: "the resource is not configured for it", help: helpBug},
	916: {name: "ERROR_KEY_ROTATION", text: "the keys of the confidential device are being renewed"},
	999: {name: "ERROR_UNKNOWN", text: "the driver failed without a reason", help: helpRestart},
}

// failure makes an error of a result, nil of success.
func (r result) failure(call, dev string) error {
	if r == success {
		return nil
	}
	m, ok := meanings[r]
	if !ok {
		m = meaning{name: "ERROR_" + strconv.Itoa(int(r)),
			text: "the driver failed for a reason that this version of healc does not know"}
	}
	return &device.Error{Device: dev, Call: call, Code: int(r), Name: "CUDA_" + m.name, Text: m.text, Help: m.help,
		Lost: m.lost}
}
