package gpu

// Frames is a bound for the frame of each function in a text, by its name.
func Frames(ptx string) map[string]int64 {
	bytes := map[string]int64{}
	for _, f := range frames(ptx) {
		bytes[f.name] = f.bytes
	}
	return bytes
}
