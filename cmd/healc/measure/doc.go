// Package measure times things so that the figures can be compared: contenders take turns, one sample each, round
// after round, so that a change of the machine's clock or load meets all of them; what counts are medians; and the
// machine's own limits, streaming memory and multiplying, are contenders like any other. `healc bench` and
// `make bench` use it.
package measure
