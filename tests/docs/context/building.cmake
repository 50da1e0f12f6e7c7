# A project around the part of it in docs/building.md.
cmake_minimum_required(VERSION 3.18)
project(context LANGUAGES C Fortran)
find_package(MPI REQUIRED COMPONENTS C Fortran)
BLOCK
