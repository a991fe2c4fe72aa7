// Package lists has what the standard library lacks for slices.
package lists

// Map returns what a function makes of each item; never nil, which would be null in JSON.
func Map[T, R any](items []T, made func(T) R) []R {
	results := make([]R, len(items))
	for place, item := range items {
		results[place] = made(item)
	}
	return results
}
