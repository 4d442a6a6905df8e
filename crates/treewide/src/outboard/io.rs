//! Bytes at places: memory, files, or what a program brings.

use super::error::IoError;

/// Bytes that can be read at any place, by several threads at the same time.
pub trait ReadAt: Sync {
    /// Fills `buf` with the bytes from byte `at` on.
    ///
    /// # Errors
    /// If there are fewer bytes (then [`IoError::is_end`] is true), or if they cannot be read. `buf` may be partly
    /// filled.
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError>;

    /// Returns the number of bytes, or `None` if that is not known.
    ///
    /// # Errors
    /// If it cannot be asked.
    fn size(&self) -> Result<Option<u64>, IoError> {
        Ok(None)
    }

    /// Returns all bytes, if they are in memory; then they are not copied.
    fn as_slice(&self) -> Option<&[u8]> {
        None
    }
}

/// Bytes that can be written at any place.
pub trait WriteAt {
    /// Writes `buf` to the bytes from byte `at` on. Where this is past the end, the bytes become more if they can.
    ///
    /// # Errors
    /// If not all of them can be written. Some may be written.
    fn write_all_at(&mut self, buf: &[u8], at: u64) -> Result<(), IoError>;

    /// Makes the number of bytes `size`; new ones are 0.
    ///
    /// # Errors
    /// If it cannot be changed.
    fn set_size(&mut self, size: u64) -> Result<(), IoError>;

    /// Returns when everything that was written would survive a loss of power.
    ///
    /// # Errors
    /// If that cannot be achieved.
    fn sync(&mut self) -> Result<(), IoError> {
        Ok(())
    }
}

/// The bytes of `from` from `at` on, `len` of them.
fn part(from: usize, at: u64, len: usize) -> Result<core::ops::Range<usize>, IoError> {
    let start = usize::try_from(at).ok().filter(|&start| start <= from);
    match start.map(|start| (start, start.checked_add(len))) {
        Some((start, Some(end))) if end <= from => Ok(start..end),
        _ => Err(IoError::end(at.max(from as u64))),
    }
}

impl ReadAt for [u8] {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        buf.copy_from_slice(&self[part(self.len(), at, buf.len())?]);
        Ok(())
    }

    fn size(&self) -> Result<Option<u64>, IoError> {
        Ok(Some(self.len() as u64))
    }

    fn as_slice(&self) -> Option<&[u8]> {
        Some(self)
    }
}

impl<const N: usize> ReadAt for [u8; N] {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        self[..].read_exact_at(buf, at)
    }

    fn size(&self) -> Result<Option<u64>, IoError> {
        self[..].size()
    }

    fn as_slice(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// It keeps its size.
impl WriteAt for [u8] {
    fn write_all_at(&mut self, buf: &[u8], at: u64) -> Result<(), IoError> {
        let part = part(self.len(), at, buf.len())?;
        self[part].copy_from_slice(buf);
        Ok(())
    }

    fn set_size(&mut self, size: u64) -> Result<(), IoError> {
        match size == self.len() as u64 {
            true => Ok(()),
            false => Err(IoError::new("a slice keeps its size; use a `Vec` or a file")),
        }
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        (**self).read_exact_at(buf, at)
    }

    fn size(&self) -> Result<Option<u64>, IoError> {
        (**self).size()
    }

    fn as_slice(&self) -> Option<&[u8]> {
        (**self).as_slice()
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &mut T {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        (**self).read_exact_at(buf, at)
    }

    fn size(&self) -> Result<Option<u64>, IoError> {
        (**self).size()
    }

    fn as_slice(&self) -> Option<&[u8]> {
        (**self).as_slice()
    }
}

impl<T: WriteAt + ?Sized> WriteAt for &mut T {
    fn write_all_at(&mut self, buf: &[u8], at: u64) -> Result<(), IoError> {
        (**self).write_all_at(buf, at)
    }

    fn set_size(&mut self, size: u64) -> Result<(), IoError> {
        (**self).set_size(size)
    }

    fn sync(&mut self) -> Result<(), IoError> {
        (**self).sync()
    }
}

#[cfg(feature = "std")]
mod with_std {
    use super::*;

    impl ReadAt for Vec<u8> {
        fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
            self[..].read_exact_at(buf, at)
        }

        fn size(&self) -> Result<Option<u64>, IoError> {
            self[..].size()
        }

        fn as_slice(&self) -> Option<&[u8]> {
            Some(self)
        }
    }

    /// It grows where bytes are written behind its end.
    impl WriteAt for Vec<u8> {
        fn write_all_at(&mut self, buf: &[u8], at: u64) -> Result<(), IoError> {
            let end = at.checked_add(buf.len() as u64).ok_or(IoError::new(NO_ROOM))?;
            if end > self.len() as u64 {
                self.set_size(end)?;
            }
            self[..].write_all_at(buf, at)
        }

        fn set_size(&mut self, size: u64) -> Result<(), IoError> {
            let size = usize::try_from(size).map_err(|_| IoError::new(NO_ROOM))?;
            let more = size.saturating_sub(self.len());
            self.try_reserve(more).map_err(|_| IoError::new(NO_ROOM))?;
            self.resize(size, 0);
            Ok(())
        }
    }

    const NO_ROOM: &str = "there is no memory for that many bytes; use a file";

    #[cfg(any(unix, windows))]
    mod files {
        use super::*;
        use std::fs::File;
        use std::io;

        #[cfg(unix)]
        fn read_some(file: &File, buf: &mut [u8], at: u64) -> io::Result<usize> {
            std::os::unix::fs::FileExt::read_at(file, buf, at)
        }

        #[cfg(windows)]
        fn read_some(file: &File, buf: &mut [u8], at: u64) -> io::Result<usize> {
            std::os::windows::fs::FileExt::seek_read(file, buf, at)
        }

        #[cfg(unix)]
        fn write_some(file: &File, buf: &[u8], at: u64) -> io::Result<usize> {
            std::os::unix::fs::FileExt::write_at(file, buf, at)
        }

        #[cfg(windows)]
        fn write_some(file: &File, buf: &[u8], at: u64) -> io::Result<usize> {
            std::os::windows::fs::FileExt::seek_write(file, buf, at)
        }

        /// Continues after each part, and after signals.
        fn read_all(
            mut buf: &mut [u8],
            mut at: u64,
            mut read_some: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
        ) -> Result<(), IoError> {
            while !buf.is_empty() {
                match read_some(buf, at) {
                    Ok(0) => return Err(IoError::end(at)),
                    Ok(read) => (buf, at) = (&mut buf[read..], at + read as u64),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // No file has bytes there.
                    Err(_) if i64::try_from(at).is_err() => return Err(IoError::end(at)),
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        }

        /// The same for writing.
        fn write_all(
            mut buf: &[u8],
            mut at: u64,
            mut write_some: impl FnMut(&[u8], u64) -> io::Result<usize>,
        ) -> Result<(), IoError> {
            while !buf.is_empty() {
                match write_some(buf, at) {
                    Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                    Ok(written) => (buf, at) = (&buf[written..], at + written as u64),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        }

        /// On Windows, reading moves the position of the file.
        impl ReadAt for File {
            fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
                read_all(buf, at, |buf, at| read_some(self, buf, at))
            }

            fn size(&self) -> Result<Option<u64>, IoError> {
                let metadata = self.metadata()?;
                Ok(metadata.is_file().then_some(metadata.len()))
            }
        }

        /// On Windows, writing moves the position of the file.
        impl WriteAt for File {
            fn write_all_at(&mut self, buf: &[u8], at: u64) -> Result<(), IoError> {
                write_all(buf, at, |buf, at| write_some(self, buf, at))
            }

            fn set_size(&mut self, size: u64) -> Result<(), IoError> {
                Ok(self.set_len(size)?)
            }

            fn sync(&mut self) -> Result<(), IoError> {
                Ok(self.sync_all()?)
            }
        }

        #[cfg(test)]
        mod tests {
            use super::*;

            /// A system that is interrupted before each call that does something, and does three bytes at a time.
            fn slowly(calls: &mut usize, len: usize) -> io::Result<usize> {
                *calls += 1;
                match *calls % 2 {
                    1 => Err(io::ErrorKind::Interrupted.into()),
                    _ => Ok(len.min(3)),
                }
            }

            #[test]
            fn bytes_that_come_in_parts_between_signals() {
                let all = b"twelve bytes";
                let (mut calls, mut bytes) = (0, [0; 10]);
                let read = |calls: &mut usize, buf: &mut [u8], at: u64| {
                    let rest = &all[(at as usize).min(all.len())..];
                    let len = slowly(calls, rest.len().min(buf.len()))?;
                    buf[..len].copy_from_slice(&rest[..len]);
                    Ok(len)
                };
                read_all(&mut bytes, 2, |buf, at| read(&mut calls, buf, at)).expect("read");
                assert_eq!((&bytes, calls), (b"elve bytes", 8));
                let error = read_all(&mut bytes, 3, |buf, at| read(&mut calls, buf, at));
                assert!(error.expect_err("nine bytes are there").is_end());
                let (mut calls, mut written) = (0, Vec::new());
                write_all(all, 5, |buf, at| {
                    assert_eq!(at, 5 + written.len() as u64);
                    let len = slowly(&mut calls, buf.len())?;
                    written.extend_from_slice(&buf[..len]);
                    Ok(len)
                })
                .expect("written");
                assert_eq!((&written[..], calls), (&all[..], 8));
                let error = write_all(all, 0, |_, _| Ok(0)).expect_err("the disk takes nothing");
                assert_eq!(io::Error::from(error).kind(), io::ErrorKind::WriteZero);
            }
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    fn check(mut store: impl ReadAt + WriteAt) {
        store.set_size(5).expect("five bytes");
        store.write_all_at(b"abc", 1).expect("written");
        let mut bytes = [9; 5];
        store.read_exact_at(&mut bytes, 0).expect("read");
        assert_eq!(&bytes, b"\0abc\0");
        assert_eq!(store.size().expect("asked"), Some(5));
        for (len, at) in [(1, 5), (2, 4), (6, 0), (1, u64::MAX), (2, u64::MAX - 1), (1, 1 << 63)] {
            let error = store.read_exact_at(&mut vec![0; len], at).expect_err("no bytes");
            assert!(error.is_end(), "{len} at {at}: {error}");
            assert!(std::io::Error::from(error).kind() == std::io::ErrorKind::UnexpectedEof);
        }
        store.read_exact_at(&mut [], 5).expect("nothing, at the end");
        store.sync().expect("synced");
    }

    #[test]
    fn bytes_at_places_in_memory_and_files() {
        check(Vec::new());
        check(&mut [0; 5][..]);
        #[cfg(any(unix, windows))]
        {
            let path = std::env::temp_dir().join(format!("treewide-io-{}", std::process::id()));
            let mut options = std::fs::File::options();
            check(options.read(true).write(true).create_new(true).open(&path).expect("a file"));
            std::fs::remove_file(&path).expect("removed");
        }
        let mut slice = [0; 5];
        assert!(slice[..].write_all_at(&[1; 2], 4).expect_err("no room").is_end());
        assert!(slice[..].set_size(6).is_err() && slice == [0; 5]);
        let mut vec = vec![1];
        vec.write_all_at(&[2], 3).expect("it grows");
        assert_eq!(vec, [1, 0, 0, 2]);
        assert!(vec.write_all_at(&[2], u64::MAX).is_err() && vec.len() == 4);
    }
}
