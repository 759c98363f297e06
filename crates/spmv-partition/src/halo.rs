//! What a part sends to others and receives from them.

use std::ops::Range;

/// Values of `x` that a part sends in every product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Send {
    /// Index of the part that receives them.
    pub to: usize,
    /// Which, counted from the first value that the sender owns.
    pub values: Vec<u32>,
}

/// Values of `x` that a part receives in every product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receive {
    /// Index of the part that owns them.
    pub from: usize,
    /// Which of the receiver's ghosts.
    pub ghosts: Range<usize>,
}

/// The exchange of one part: values that others need, and its ghosts, the values that it needs of others.
///
/// A part packs what it sends in the order of [`sends`](Self::sends), and has its ghosts in ascending order of columns, so that those
/// of each owner stand together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Halo {
    /// In ascending order of receivers, none of which is the part itself.
    pub sends: Vec<Send>,
    /// In ascending order of owners; one after the other they are all ghosts.
    pub receives: Vec<Receive>,
}

impl Halo {
    /// How many values are sent.
    pub fn n_sent(&self) -> usize {
        self.sends.iter().map(|send| send.values.len()).sum()
    }

    /// How many ghosts there are.
    pub fn n_ghosts(&self) -> usize {
        self.receives.last().map_or(0, |receive| receive.ghosts.end)
    }
}
