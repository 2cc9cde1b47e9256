//! The native half of the Python package `iobound`; `python/iobound` is the other.

mod arguments;
mod buffer;
mod generator;
mod one_shot;
mod stream;
mod system_info;
mod team;

/// Native half of iobound.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::generator::Generator;
    #[pymodule_export]
    use crate::one_shot::{BufferPool, create_bytearrays, generate_buffer, generate_into_buffer};
    #[pymodule_export]
    use crate::stream::{read_file, write_file};
    #[pymodule_export]
    use crate::system_info::get_numa_info;
    /// Of the program and the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
