# A project around the part of it in README.md.
cmake_minimum_required(VERSION 3.18)
project(context LANGUAGES C Fortran)
add_executable(program survive.f90)
BLOCK
