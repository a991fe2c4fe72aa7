// Package atomicfile writes files atomically.
package atomicfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hopwise/load/internal/jsonline"
)

// Write replaces the file's content by what the function write produces; after a failure the file is unchanged.
func Write(path string, write func(io.Writer) error) error {
	part, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	buffered := bufio.NewWriterSize(part, 1<<18)
	err = write(buffered)
	if err = errors.Join(err, buffered.Flush(), part.Chmod(0o644), part.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.Rename(part.Name(), path)
}

// WriteRows writes the rows that the function write adds, one JSON object per line.
func WriteRows(path string, write func(add func(row any) error) error) error {
	return Write(path, func(w io.Writer) error {
		return write(jsonline.NewEncoder(w).Encode)
	})
}

func WriteJSON(path string, value any) error {
	return Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	})
}
