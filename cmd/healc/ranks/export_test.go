package ranks

// StartEach is Start with the arguments of each rank.
var StartEach = start
