//! Key trees and the files made of them.
