//! An opened device with its compiled kernels, and vectors that live on it.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use spmv_backend::{Addressed, Backend, DeviceCaps, KernelSpec};
use spmv_core::{Dtype, Value, c64};
use spmv_model::Profile;

use crate::error::{Error, Result};

/// An opened device. Cheap to clone; clones share compiled kernels.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(backend: B) -> Result<(), spmv_exec::Error> {
/// use spmv_exec::Device;
/// let device = Device::new(backend)?;
/// let x = device.upload(&[1.0f64, 2.0])?;
/// assert_eq!(x.len(), 2);
/// # Ok(()) }
/// ```
pub struct Device<B: Backend> {
    inner: Arc<Inner<B>>,
    /// Apart from the rest, so that [`following`](Self::following) can share that.
    profiles: Arc<[Profile]>,
}

struct Inner<B: Backend> {
    backend: B,
    kernels: Mutex<HashMap<KernelSpec, Arc<B::Kernel>>>,
    /// For copies of vectors, as many as ever copied at a time: no run has them in use, since runs borrow them.
    copies: Mutex<Vec<B::Stream>>,
    stretches: Mutex<Stretches>,
    /// What kernels are given that they do not read.
    nothing: B::Buffer,
}

/// A use by a queue: in which stretch between waits, and in which recording, if it was recorded. 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) stretch: u64,
    pub(crate) recording: u64,
}

/// Stretches of queues.
#[derive(Debug, Default)]
pub(crate) struct Stretches {
    /// Those that nobody has waited for.
    pub(crate) live: Vec<u64>,
    /// Recordings whose operations are held back.
    pub(crate) held: Vec<u64>,
}

impl Stretches {
    /// Whether one of them is to be waited for.
    ///
    /// # Errors
    /// [`Error::Recorded`] for one that cannot be.
    pub(crate) fn includes(&self, mut uses: impl Iterator<Item = Use> + Clone) -> Result<bool> {
        match uses.clone().any(|one| self.held.contains(&one.recording)) {
            true => Err(Error::Recorded),
            false => Ok(uses.any(|one| self.live.contains(&one.stretch))),
        }
    }
}

/// Its name: every vector and matrix has a device.
impl<B: Backend> Debug for Device<B> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.caps().name).finish()
    }
}

impl<B: Backend> Clone for Device<B> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), profiles: Arc::clone(&self.profiles) }
    }
}

impl<B: Backend> Device<B> {
    /// Takes over an opened backend, whose plans follow rules of thumb.
    ///
    /// # Errors
    /// Whatever the driver says about a new stream.
    pub fn new(backend: B) -> Result<Self> {
        Self::with_profiles(backend, vec![])
    }

    /// Takes over an opened backend, whose plans compare the times that the first profile predicts that knows the type of
    /// values. Whether it is a profile of this device is for [`Profile::load`] to say.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_profiles(backend: B, profiles: Vec<Profile>) -> Result<Self> {
        let copies = Mutex::new(vec![backend.open_stream(false)?]);
        let (kernels, stretches) = (Mutex::default(), Mutex::default());
        let nothing = backend.alloc(size_of::<c64>() as u64)?;
        let inner = Arc::new(Inner { backend, kernels, copies, stretches, nothing });
        Ok(Self { inner, profiles: profiles.into() })
    }

    /// The same device, whose plans compare the times of these profiles instead. It shares compiled kernels with this one, and
    /// what was made on either can be used with what was made on the other.
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
    /// use spmv_core::{Csr, Dtype};
    /// use spmv_exec::{Options, Profile};
    /// let following = device.following(vec![Profile::cpu().clone()]);
    /// assert!(following.profile(Dtype::F32).is_some());
    /// let a = following.prepare(Csr::from_coo(1, 1, &[(0, 0, 2.0f32)])?.view(), &Options::default())?;
    /// let (x, mut y) = (device.upload(&[3.0f32])?, device.zeros::<f32>(1)?);
    /// a.apply(&mut a.workspace()?, 1.0, &x, 0.0, &mut y)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn following(&self, profiles: Vec<Profile>) -> Self {
        Self { inner: Arc::clone(&self.inner), profiles: profiles.into() }
    }

    /// The times that plans for values of a type follow, if there are any.
    pub fn profile(&self, value: Dtype) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.knows(value))
    }

    /// What the device says of itself.
    pub fn caps(&self) -> &DeviceCaps {
        self.inner.backend.caps()
    }

    /// Scratch memory for `n` elements.
    pub(crate) fn scratch<E>(&self, n: usize) -> Result<B::Buffer> {
        Ok(self.backend().alloc(bytes_of::<E>(n))?)
    }

    /// What kernels are given that they do not read.
    pub(crate) fn nothing(&self) -> &B::Buffer {
        &self.inner.nothing
    }

    /// The backend.
    pub fn backend(&self) -> &B {
        &self.inner.backend
    }

    /// A vector of `len` zeros on the device.
    ///
    /// # Errors
    /// Out of memory.
    pub fn zeros<T: Value>(&self, len: usize) -> Result<DeviceVec<B, T>> {
        let mut vec = self.uninit(len)?;
        let bytes = vec.bytes();
        self.copies(|s| self.backend().zero(s, &mut vec.buffer, bytes))?;
        Ok(vec)
    }

    /// A copy of `values` on the device.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload<T: Value>(&self, values: &[T]) -> Result<DeviceVec<B, T>> {
        let mut vec = self.uninit(values.len())?;
        vec.write(values)?;
        Ok(vec)
    }

    /// Makes a vector of the first `len` values in a buffer of the backend, which is used in place.
    ///
    /// [`DeviceVec::into_buffer`] gives the buffer back.
    ///
    /// # Errors
    /// [`OutOfBounds`](spmv_backend::Error::OutOfBounds) if the buffer is shorter, and whatever the driver says.
    ///
    /// # Panics
    /// If the buffer is of another device.
    ///
    /// ```
    /// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
    /// let buffer = device.backend().alloc(8)?;
    /// let mut x = device.adopt::<f32>(buffer, 2)?;
    /// x.write(&[1.0, 2.0])?;
    /// let buffer = x.into_buffer()?;
    /// # Ok(()) }
    /// ```
    pub fn adopt<T: Value>(&self, mut buffer: B::Buffer, len: usize) -> Result<DeviceVec<B, T>> {
        // Copies nothing; the backend checks that the end lies in the buffer.
        self.copies(|s| self.backend().write(s, &mut buffer, bytes_of::<T>(len), &[]))?;
        Ok(self.vector(buffer, len))
    }

    fn vector<T>(&self, buffer: B::Buffer, len: usize) -> DeviceVec<B, T> {
        let (in_use, uses) = (AtomicU32::new(0), Mutex::default());
        DeviceVec { device: self.clone(), buffer, len, unrepaired: false, in_use, uses, values: PhantomData }
    }

    fn uninit<T: Value>(&self, len: usize) -> Result<DeviceVec<B, T>> {
        Ok(self.vector(self.backend().alloc(bytes_of::<T>(len))?, len))
    }

    /// The kernel of this key, whatever its S; compiled at most once. For backends that watch another.
    ///
    /// # Errors
    /// If the device cannot do what the key asks for, or its compiler fails.
    #[doc(hidden)]
    pub fn kernel(&self, spec: &KernelSpec) -> spmv_backend::Result<Arc<B::Kernel>> {
        let spec = &spec.code();
        let mut kernels = self.inner.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(spec) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = Arc::new(self.backend().compile(spec)?);
        kernels.insert(*spec, Arc::clone(&kernel));
        Ok(kernel)
    }

    /// Whether both are clones of one: what is made on either can be used with the other.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Copies on a stream of its own, and waits: runs are on other streams.
    pub(crate) fn copies<R, E: From<spmv_backend::Error>>(
        &self,
        f: impl FnOnce(&B::Stream) -> Result<R, E>,
    ) -> Result<R, E> {
        let stream = self.copying()?;
        let result = f(&stream).and_then(|result| Ok(self.backend().finish(&stream).map(|()| result)?));
        self.copied(stream, result.is_ok());
        result
    }

    /// A stream that nobody copies on: who does may have others copy too.
    fn copying(&self) -> spmv_backend::Result<B::Stream> {
        self.idle_copies().pop().map_or_else(|| self.backend().open_stream(false), Ok)
    }

    /// Gives one back.
    fn copied(&self, stream: B::Stream, is_done: bool) {
        // An error may leave a copy on its way, and the next use of the memory is on another stream.
        if is_done || self.settle(&stream) {
            self.idle_copies().push(stream);
        }
    }

    fn idle_copies(&self) -> MutexGuard<'_, Vec<B::Stream>> {
        self.inner.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stretches(&self) -> MutexGuard<'_, Stretches> {
        self.inner.stretches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a use to those of stretches that are live.
    pub(crate) fn note(&self, uses: &mut Vec<Use>, new: Use) {
        // Most follow one of the same stretch, and need not know which ones live.
        if let Some(used) = uses.iter_mut().find(|used| used.stretch == new.stretch) {
            *used = new;
            return;
        }
        let stretches = self.stretches();
        uses.retain(|used| stretches.live.contains(&used.stretch));
        uses.push(new);
    }

    /// After an error: waits for what is on its way on a stream, or else on all of them. Whether that worked; the error is the
    /// one to report.
    pub(crate) fn settle(&self, stream: &B::Stream) -> bool {
        self.backend().finish(stream).or_else(|_| self.backend().wait_all()).is_ok()
    }
}

/// A vector on a device: `x` in the matrix's value type, `y` in its type of sums.
///
/// ```
/// # fn with<B: spmv_backend::Backend>(device: spmv_exec::Device<B>) -> Result<(), spmv_exec::Error> {
/// let mut x = device.zeros::<f32>(3)?;
/// x.write(&[1.0, 2.0, 3.0])?;
/// assert_eq!(x.to_vec()?, [1.0, 2.0, 3.0]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct DeviceVec<B: Backend, T> {
    pub(crate) device: Device<B>,
    pub(crate) buffer: B::Buffer,
    len: usize,
    /// Set while a run may have left misplaced sums, so that even a forgotten `Pending` shows none.
    pub(crate) unrepaired: bool,
    /// Runs that were started with it as `x` and not waited for. While there is one, its `Pending` borrows the
    /// vector; so whoever has it mutably and finds one knows that it was forgotten.
    pub(crate) in_use: AtomicU32,
    uses: Mutex<Uses>,
    values: PhantomData<T>,
}

/// Queues that have used a vector since somebody waited for all of them.
#[derive(Debug, Default)]
struct Uses {
    writer: Use,
    readers: Vec<Use>,
}

impl Uses {
    /// By stretches but that one.
    fn others(&self, own: u64) -> impl Iterator<Item = Use> + Clone {
        let others =
            self.readers.iter().copied().chain([self.writer]).filter(move |used| used.stretch != own);
        others.filter(|used| *used != Use::default())
    }
}

/// Bytes of `n` elements; more than any buffer has, where they cannot be counted.
pub(crate) fn bytes_of<E>(n: usize) -> u64 {
    (n as u64).saturating_mul(size_of::<E>() as u64)
}

impl<B: Backend, T: Value> DeviceVec<B, T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Address of the values on the device, for other libraries' calls on them. Queues that use the vector may still be at work: wait
    /// for them first.
    pub fn address(&self) -> u64
    where
        B::Buffer: Addressed,
    {
        self.buffer.address()
    }

    /// The buffer that holds the values, for [`Device::adopt`] or the backend's own use. Runs that use it are over.
    ///
    /// # Errors
    /// [`Error::Unrepaired`], and whatever the driver says.
    pub fn into_buffer(mut self) -> Result<B::Buffer> {
        self.wait_for_forgotten()?;
        self.check_repaired()?;
        Ok(self.buffer)
    }

    /// The device it lives on.
    pub fn device(&self) -> &Device<B> {
        &self.device
    }

    /// Overwrites all values.
    ///
    /// # Errors
    /// [`Error::Length`], and whatever the driver says.
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        self.check_len(values.len())?;
        self.write_from(0, values)?;
        self.unrepaired = false;
        Ok(())
    }

    /// Overwrites the values from `first` on, as many as are given; sums that were never repaired stay so.
    ///
    /// # Errors
    /// [`Error::Length`] if there are not as many, and whatever the driver says.
    pub fn write_from(&mut self, first: usize, values: &[T]) -> Result<()> {
        if first > self.len || values.len() > self.len - first {
            let (what, found) = ("the slice", first.saturating_add(values.len()));
            return Err(Error::Length { what, found, expected: self.len });
        }
        self.wait_for_forgotten()?;
        let (at, bytes) = (bytes_of::<T>(first), bytemuck::cast_slice(values));
        Ok(self.device.copies(|s| self.device.backend().write(s, &mut self.buffer, at, bytes))?)
    }

    /// Copies all values to the host.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Unrepaired`], and whatever the driver says.
    pub fn read(&self, values: &mut [T]) -> Result<()> {
        self.check_len(values.len())?;
        self.check_repaired()?;
        self.wait_for_writers()?;
        let bytes = bytemuck::cast_slice_mut(values);
        Ok(self.device.copies(|s| self.device.backend().read(s, &self.buffer, 0, bytes))?)
    }

    /// Copies all values to a new `Vec`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut values = vec![T::default(); self.len];
        self.read(&mut values)?;
        Ok(values)
    }

    /// Maps the values in place, where host and device share memory.
    ///
    /// # Errors
    /// [`Unsupported`](spmv_backend::Error::Unsupported) where memory is discrete; [`Error::Unrepaired`].
    pub fn map<R>(&mut self, f: impl FnOnce(&mut [T]) -> R) -> Result<R> {
        self.check_repaired()?;
        self.wait_for_forgotten()?;
        let bytes = self.bytes();
        let f = |bytes: &mut [u8]| f(bytemuck::cast_slice_mut(bytes));
        Ok(self.device.copies(|s| self.device.backend().map(s, &mut self.buffer, bytes, f))?)
    }

    /// Shows the values: in place where host and device share memory, else a copy.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn with<R>(&self, f: impl FnOnce(&[T]) -> R) -> Result<R> {
        self.check_repaired()?;
        self.wait_for_writers()?;
        let (mut f, mut result) = (Some(f), None);
        let mut show = |values: &[T]| result = f.take().map(|f| f(values));
        let device = &self.device;
        let in_place = |bytes: &[u8]| show(bytemuck::cast_slice(bytes));
        if !device.copies(|s| device.backend().look(s, &self.buffer, self.bytes(), &mut { in_place }))? {
            show(&self.to_vec()?);
        }
        Ok(result.expect("shown once"))
    }

    fn bytes(&self) -> u64 {
        bytes_of::<T>(self.len)
    }

    /// Waits for runs that still use the vector although nobody can wait for them any more.
    pub(crate) fn wait_for_forgotten(&mut self) -> Result<()> {
        self.wait_for_others(0)
    }

    /// As [`wait_for_forgotten`](Self::wait_for_forgotten), but not for a stretch whose next operation comes after all.
    fn wait_for_others(&mut self, own: u64) -> Result<()> {
        let uses = self.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
        let is_used =
            uses.others(own).next().is_some() && self.device.stretches().includes(uses.others(own))?;
        if self.unrepaired || *self.in_use.get_mut() > 0 || is_used {
            self.device.backend().wait_all()?;
            self.in_use.store(0, Ordering::Relaxed);
        }
        uses.writer = Use::default();
        uses.readers.clear();
        Ok(())
    }

    /// Before a use that reads: waits for queues that still write the vector.
    pub(crate) fn wait_for_writers(&self) -> Result<()> {
        self.read_by(Use::default())
    }

    /// Notes that a queue reads the vector (or that somebody else does, who is not waited for); waits for others that still write it.
    pub(crate) fn read_by(&self, new: Use) -> Result<()> {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        if uses.writer.stretch != new.stretch && uses.writer.stretch != 0 {
            if self.device.stretches().includes([uses.writer].into_iter())? {
                self.device.backend().wait_all()?;
            }
            uses.writer = Use::default();
        }
        if new.stretch != 0 {
            self.device.note(&mut uses.readers, new);
        }
        Ok(())
    }

    /// Notes that a queue writes the vector; waits for all others that use it.
    pub(crate) fn written_by(&mut self, new: Use) -> Result<()> {
        let uses = self.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
        let others = |used: &Use| used.stretch != new.stretch;
        let is_own = self.unrepaired || *self.in_use.get_mut() > 0;
        if is_own || others(&uses.writer) && uses.writer.stretch != 0 || uses.readers.iter().any(others) {
            self.wait_for_others(new.stretch)?;
        }
        self.unrepaired = false;
        self.uses.get_mut().unwrap_or_else(PoisonError::into_inner).writer = new;
        Ok(())
    }

    /// Whether it is on a device.
    pub(crate) fn is_on(&self, what: &'static str, device: &Device<B>) -> Result<()> {
        if self.device.is(device) { Ok(()) } else { Err(Error::Foreign { what, to: "device" }) }
    }

    pub(crate) fn check_repaired(&self) -> Result<()> {
        if self.unrepaired { Err(Error::Unrepaired) } else { Ok(()) }
    }

    fn check_len(&self, found: usize) -> Result<()> {
        if found == self.len {
            Ok(())
        } else {
            Err(Error::Length { what: "the slice", found, expected: self.len })
        }
    }
}
