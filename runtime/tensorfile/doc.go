// Package tensorfile reads and writes tensors in files: .npy and .npz of NumPy, and .safetensors; pictures, .png and
// .pgm, it writes. A malformed file is an error, *NpyError or *SafetensorsError, and takes no more memory than its size
// says.
package tensorfile
